// Sortable, filtered and scrolled tables by DataTables.
import { make, put } from "./text.js";

const LANGUAGE = { search: "filter", info: "_START_ to _END_ of _TOTAL_", infoEmpty: "none", infoFiltered: "(of _MAX_)", zeroRecords: "no match", emptyTable: "no rows yet", processing: "loading ..." };

// columns: [{ name, title, show(value, row) -> Node or text, numeric, sortable }].
export function table(columns, { rows = null, fetchPage = null, order = [], caption, height = "60vh" }) {
  const heads = columns.map((column) => make("th", { scope: "col", class: column.numeric ? "numeric" : null }, column.title));
  const element = make("table", { class: "display compact" }, make("caption", {}, caption), make("thead", {}, make("tr", {}, heads)));
  const holder = make("div", { class: "table" }, element);
  const defined = columns.map((column, place) => ({
    data: place,
    orderable: column.sortable !== false,
    className: column.numeric ? "numeric" : "",
    type: column.numeric ? "num" : "string",
    render: (value, kind, row) => (kind === "display" ? cell(column, value, row) : value ?? (column.numeric ? -Infinity : "")),
  }));
  const options = { columns: defined, order, language: LANGUAGE, autoWidth: false, scrollX: true };
  if (fetchPage) {
    Object.assign(options, { serverSide: true, searching: false, scroller: { loadingIndicator: true }, deferRender: true, scrollY: height, layout: { topStart: "info", topEnd: null, bottomStart: null, bottomEnd: null } });
    options.ajax = (params, done) => {
      const [sorted] = params.order;
      fetchPage({ start: params.start, length: params.length, sort: columns[sorted?.column ?? 0].name, falling: sorted?.dir === "desc" ? "1" : "" })
        .then((page) => done({ draw: params.draw, recordsTotal: page.total, recordsFiltered: page.filtered, data: page.rows }))
        .catch((error) => done({ draw: params.draw, recordsTotal: 0, recordsFiltered: 0, data: [], error: error.message }));
    };
  } else {
    Object.assign(options, { data: rows, paging: false, layout: { topStart: "search", topEnd: "info", bottomStart: null, bottomEnd: null } });
  }
  return {
    holder,
    // Call after the holder is in the page: measures widths.
    start() {
      globalThis.HandaxeTables.ext.errMode = "none";
      this.made = new globalThis.HandaxeTables(element, options);
      for (const body of holder.querySelectorAll(".dt-scroll-body")) {
        body.setAttribute("tabindex", "0");
        body.setAttribute("role", "region");
        body.setAttribute("aria-label", `${caption}, scrollable table`);
      }
    },
    reload(keepPlace = true) {
      this.made?.ajax.reload(null, !keepPlace);
    },
    stop() {
      this.made?.destroy();
    },
  };
}

function cell(column, value, row) {
  const found = column.show ? column.show(value, row) : value;
  return found instanceof Node ? found : put(make("span"), found === null || found === undefined ? "-" : String(found));
}
