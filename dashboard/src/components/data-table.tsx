/** Tables with a name, and charts with a table behind them. */

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

interface DataTableProps {
  /** The accessible name. */
  readonly name: string;
  readonly columns: readonly string[];
  /** The rows, as `tr` elements. */
  readonly children: ComponentChildren;
}

export function DataTable({ name, columns, children }: DataTableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: A region that scrolls must be reachable by keyboard.
    <section class="table-frame" aria-label={`${name} (scrolls)`} tabIndex={0}>
      <table aria-label={name}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

/** A value in a cell of a chart's table. */
type CellValue = string | number;

interface ChartFigureProps {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly CellValue[])[];
  /** The chart itself; hidden from screen readers, who get the table. */
  readonly children: ComponentChildren;
}

/** Rows of one page of the table behind a chart. */
const rowsPerPage = 25;

/** A chart with its table behind the button `Show as table`. */
export function ChartFigure({ name, columns, rows, children }: ChartFigureProps) {
  const isTable = useSignal(false);
  const page = useSignal(0);
  const pages = Math.max(1, Math.ceil(rows.length / rowsPerPage));
  const at = Math.min(page.value, pages - 1);
  return (
    <figure class="chart" aria-label={name}>
      {isTable.value ? (
        <DataTable name={`${name}: table`} columns={columns}>
          {rows.slice(at * rowsPerPage, (at + 1) * rowsPerPage).map((row, index) => (
            <tr key={`${at}-${index}`}>
              {row.map((cell, column) => (
                <td key={columns[column]}>{cell}</td>
              ))}
            </tr>
          ))}
        </DataTable>
      ) : (
        <div aria-hidden="true">{children}</div>
      )}
      <figcaption class="chart-tools">
        <button
          type="button"
          class="small"
          aria-pressed={isTable.value}
          onClick={() => {
            isTable.value = !isTable.value;
          }}
        >
          {isTable.value ? 'Show as chart' : 'Show as table'}
        </button>
        {isTable.value && pages > 1 && (
          <>
            <button type="button" class="quiet small" disabled={at === 0} onClick={() => page.value--}>
              Previous rows
            </button>
            <span>
              Page {at + 1} of {pages}
            </span>
            <button type="button" class="quiet small" disabled={at >= pages - 1} onClick={() => page.value++}>
              Next rows
            </button>
          </>
        )}
      </figcaption>
    </figure>
  );
}
