// The library of tables, as itables carries it; a report has it inside.
import DataTable from "../lib/dt_bundle.js";
globalThis.HandaxeTables = DataTable;
