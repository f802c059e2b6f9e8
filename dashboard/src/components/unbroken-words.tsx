/** A text that wraps between its words only: a browser would also break an id after a hyphen. */

export function UnbrokenWords({ text }: { readonly text: string }) {
  return (
    <>
      {text.split(/(\s+)/).map((part, at) =>
        part.includes('-') ? (
          <span key={at} class="unbroken">
            {part}
          </span>
        ) : (
          part
        ),
      )}
    </>
  );
}
