/** A text of the server. Pages of the documentation that it names, such as docs/runs.md, are links. */
const PAGE = /(\bdocs\/[\w/-]+\.md(?:#[\w-]+)?)/;

export function DocumentedText({ text }: { text: string }) {
  return (
    <>
      {text.split(PAGE).map((part, index) =>
        // What the pattern has found is at odd places.
        index % 2 === 0 ? (
          part
        ) : (
          <a key={index} href={`/${part}`} target="_blank" rel="noreferrer">
            {part}
          </a>
        ),
      )}
    </>
  );
}
