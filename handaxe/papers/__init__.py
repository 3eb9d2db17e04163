"""Methods of papers, a folder each."""
