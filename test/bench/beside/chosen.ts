/** What a caller of a benchmark chooses by name. It is checked before anything is started. */

/** The names that contain one of the parts; all without parts. @throws if a part is in none of them */
export function chosenBy(parts: readonly string[], names: readonly string[]): string[] {
  for (const part of parts)
    if (!names.some((name) => name.includes(part)))
      throw new Error(`${part} is in none of these names:\n  ${names.join('\n  ')}`);
  return names.filter((name) => parts.length === 0 || parts.some((part) => name.includes(part)));
}

/** @throws if one of the words is none of the names */
export function checkNamed(words: readonly string[], names: readonly string[]): void {
  for (const word of words)
    if (!names.includes(word)) throw new Error(`${word} is none of ${names.join(', ')}`);
}
