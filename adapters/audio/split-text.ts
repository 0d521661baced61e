/** Long texts for speech, in parts that servers take. */

/** OpenAI takes 4,096 characters. */
export const MAX_PART_CHARACTERS = 4_000;

/**
 * Parts of at most `MAX_PART_CHARACTERS`, each as long as possible, that end where a sentence of the language
 * ends. A sentence that is too long ends between words, a word that is too long anywhere.
 */
export function splitText(text: string, language: string | undefined): string[] {
  const parts: string[] = [];
  let part = '';
  for (const piece of piecesOf(text, language)) {
    if (part.length + piece.length > MAX_PART_CHARACTERS) {
      parts.push(part);
      part = '';
    }
    part += piece;
  }
  parts.push(part);
  return parts.map((whole) => whole.trim()).filter((whole) => whole !== '');
}

function* piecesOf(text: string, language: string | undefined): Generator<string> {
  for (const { segment: sentence } of segmenter(language, 'sentence').segment(text)) {
    if (sentence.length <= MAX_PART_CHARACTERS) yield sentence;
    else
      for (const { segment: word } of segmenter(language, 'word').segment(sentence))
        for (let at = 0; at < word.length; at += MAX_PART_CHARACTERS)
          yield word.slice(at, at + MAX_PART_CHARACTERS);
  }
}

function segmenter(language: string | undefined, granularity: 'sentence' | 'word'): Intl.Segmenter {
  const known = language !== undefined && /^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/.test(language);
  return new Intl.Segmenter(known ? language : undefined, { granularity });
}
