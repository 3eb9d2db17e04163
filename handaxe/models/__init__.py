"""Language models behind the protocols of `core.model_api`, their chat formats, and export to transformers."""
