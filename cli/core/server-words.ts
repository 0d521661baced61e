/** The server names fields and endpoints; who types commands knows flags and commands. */

/** Endpoints in the server's sentences, and the commands that call them. */
const COMMANDS: readonly (readonly [endpoint: RegExp, command: string])[] = [
  [/\bPUT (\/secrets\/\S+)\?team_id=\{id\}/g, 'PUT $1 --team TEAM'],
  [/\bPUT (\/secrets\/\S+)\?team_id=([\da-f-]{36})/g, 'PUT $1 --team $2'],
  [/\bPUT \/secrets\/\{name\}/g, 'cadenza secret set NAME'],
  [/\bPUT \/secrets\/([\w.-]+\w)/g, 'cadenza secret set $1'],
  [/\bat POST \/users\/me\/verify\b/g, 'with cadenza session verify'],
  [/\bPOST \/users\/([\da-f-]{36})\/transfer\b/g, 'cadenza user transfer $1 TO'],
];

/** A sentence of the server that names commands instead of endpoints. */
export const inCommands = (sentence: string): string =>
  COMMANDS.reduce((text, [endpoint, command]) => text.replaceAll(endpoint, command), sentence);

/**
 * The flag or argument that sets the field of a pointer: `/email`, or `status/0` of a query.
 * @param typed what was given, by the fields that it sets
 */
export function typedName(pointer: string, typed: ReadonlyMap<string, string>): string | undefined {
  const [field = '', ...rest] = pointer.replace(/^\//, '').split('/');
  return rest.every((part) => /^\d+$/.test(part)) ? typed.get(field) : undefined;
}

/** The sentence about one field with the name that was typed. */
export function inFlags(sentence: string, pointer: string, name: string): string {
  const rest = sentence.startsWith(pointer) ? sentence.slice(pointer.length) : ` ${sentence}`;
  return `${name}${rest}`;
}
