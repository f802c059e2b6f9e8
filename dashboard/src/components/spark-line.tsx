/** Small charts without axes: what happened in the last minutes, as bars. The number stands beside it as text. */

interface SparkLineProps {
  readonly values: readonly number[];
  readonly tone: 'warn' | 'bad';
}

const height = 20;
const barWidth = 3;

/** A bar for each step; hidden from screen readers, because the text beside it says the sum. */
export function SparkLine({ values, tone }: SparkLineProps) {
  const most = Math.max(1, ...values);
  return (
    <svg class={`spark tone-${tone}`} viewBox={`0 0 ${values.length * barWidth} ${height}`} aria-hidden="true">
      {values.map((value, at) => {
        const bar = value === 0 ? 1 : Math.max(3, (value / most) * height);
        const place = { x: at * barWidth, y: height - bar, width: barWidth - 1, height: bar };
        return <rect key={at} class={value === 0 ? 'spark-rest' : 'spark-bar'} {...place} />;
      })}
    </svg>
  );
}
