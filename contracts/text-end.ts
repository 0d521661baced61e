/**
 * The text without these characters at its end. In time that grows with the length only: a regular expression
 * such as `/\/+$/` is quadratic on a text that has many of them elsewhere.
 */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
