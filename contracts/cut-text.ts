/** Texts cut to a length, in UTF-16 units as `length` counts them. */

/** The text up to this length, well-formed: a character of two units that does not fit whole is left out. */
export function cutTo(text: string, length: number): string {
  const isHalved = (text.codePointAt(length - 1) ?? 0) > 0xffff;
  return text.slice(0, isHalved ? length - 1 : length).toWellFormed();
}

/** The text, or its beginning and an ellipsis. */
export function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${cutTo(text, length)}…`;
}
