/** Classifies media types by their content. */

export function isJsonType(type: string): boolean {
  return type === 'application/json' || type.endsWith('+json');
}

/** Whether content of a media type can be read as JSON or text. */
export function isTextual(type: string): boolean {
  return isJsonType(type) || isTextType(type);
}

function isTextType(type: string): boolean {
  return (
    type.startsWith('text/') ||
    /^application\/(xml|yaml|javascript|x-ndjson|jsonl|x-www-form-urlencoded|.*\+(xml|yaml))$/.test(type)
  );
}
