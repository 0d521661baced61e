/** Topics of a sensor: `{name}` is replaced with a field of the input. */
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { Sensitive } from '../secrets/sensitive.ts';

/** MQTT 5 §1.5.4: what a length of two bytes allows. */
const MAX_TOPIC_BYTES = 65_535;

/**
 * Values take part of one level: they cannot add levels or wildcards. Throws `Fault`. @param where the key of
 * the configuration, for errors
 */
export function topicOf(
  stored: string,
  input: unknown,
  { fill }: Pick<Sensitive, 'fill'>,
  { where, wildcards }: { where: string; wildcards: boolean },
): string {
  // Placeholders of secrets are looked for in the stored text only.
  const topic = stored
    .split(/(\{[^{}]*\})/)
    .map((part, index) => (index % 2 === 0 ? fill(part) : valueOf(part.slice(1, -1), input, where)))
    .join('');
  if (stored.startsWith('{') && topic.startsWith('$'))
    throw fault('validation', `The input may not begin ${where} with "$", which names topics of the broker`);
  if (topic === '' || topic.includes('\0') || Buffer.byteLength(topic) > MAX_TOPIC_BYTES)
    throw fault('configuration', `${where} is no topic: it needs 1 to ${MAX_TOPIC_BYTES} bytes`);
  if (!wildcards && /[+#]/.test(topic))
    throw fault('configuration', `${where} may not have the wildcards + and #`);
  return topic;
}

function valueOf(name: string, input: unknown, where: string): string {
  const value = isRecord(input) && Object.hasOwn(input, name) ? input[name] : undefined;
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
    throw fault(
      'validation',
      `${where} needs the field ${JSON.stringify(name)} of the input, a text or a number`,
    );
  const text = String(value);
  if (text === '' || /[+#/\p{Cc}]/u.test(text))
    throw fault(
      'validation',
      `The field ${JSON.stringify(name)} of the input stands for a part of ${where}, ` +
        'so it may not be empty or contain +, #, / or control characters',
    );
  return text;
}
