/** The reference page: HTML made from the OpenAPI document, without scripts and without anything from elsewhere. */
import type { OpenApiDocument } from '../../openapi.ts';
import type { Json } from '../../openapi-schemas.ts';

export const referenceStyle = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 20%, transparent); --soft: color-mix(in srgb, currentColor 6%, transparent); }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; display: grid; grid-template-columns: 17rem minmax(0, 1fr); }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1.5rem 1rem; border-right: 1px solid var(--line); font-size: .875rem; }
nav a { display: block; padding: .1rem 0; text-decoration: none; color: inherit; }
nav a:hover { text-decoration: underline; }
main { padding: 1.5rem 2.5rem 6rem; max-width: 60rem; }
h1 { margin-top: 0; } h2 { margin-top: 3rem; text-transform: capitalize; border-bottom: 1px solid var(--line); }
h3 { margin: 2rem 0 .25rem; font-size: 1rem; } h4 { margin: 1rem 0 .25rem; font-size: .875rem; }
code, pre { font: .8125rem/1.45 ui-monospace, monospace; }
pre { background: var(--soft); padding: .75rem; overflow: auto; border-radius: .4rem; margin: .25rem 0; }
b.method { display: inline-block; min-width: 4rem; font: 600 .8125rem ui-monospace, monospace; }
table { border-collapse: collapse; font-size: .875rem; } td, th { text-align: left; vertical-align: top; padding: .2rem 1rem .2rem 0; }
.role { font-size: .75rem; border: 1px solid var(--line); border-radius: 1rem; padding: 0 .5rem; margin-left: .5rem; font-weight: 400; }
summary { cursor: pointer; font-size: .875rem; }
@media (max-width: 50rem) { body { display: block; } nav { position: static; height: auto; border: 0; } main { padding: 1rem; } }
`;

interface Operation {
  path: string;
  method: string;
  json: Json;
}

export function referencePage(document: OpenApiDocument): string {
  const operations: Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, json]) => ({ path, method: method.toUpperCase(), json })));
  const tags = [...new Set(operations.flatMap(({ json }) => strings(json['tags']).slice(0, 1)))].toSorted();
  const ofTag = (tag: string) => operations.filter(({ json }) => strings(json['tags'])[0] === tag);
  const nav = tags.map((tag) => `<p><strong>${text(tag)}</strong>${ofTag(tag).map(navLine).join('')}</p>`).join('');
  const body = tags.map((tag) => `<section><h2>${text(tag)}</h2>${ofTag(tag).map(operationHtml).join('')}</section>`).join('');
  const schemas = Object.entries(object(document.components['schemas']))
    .map(([name, schema]) => `<details id="schema-${text(name)}"><summary><code>${text(name)}</code></summary>${code(schema)}</details>`).join('');
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">` +
    `<title>${text(document.info['title'])} API</title><style>${referenceStyle}</style></head><body>` +
    `<nav><p><strong>${text(document.info['title'])}</strong></p>${nav}<p><a href="#schemas">Schemas</a><a href="openapi.json">openapi.json</a></p></nav>` +
    `<main><h1>${text(document.info['title'])} API</h1><p>${prose(document.info['description'])}</p>` +
    `<p>Every path is served at <code>${text(document.servers[0]?.['url'])}</code>, and below <code>/api/v1</code> too.</p>` +
    `${body}<section><h2 id="schemas">Schemas</h2>${schemas}</section></main></body></html>`;
}

function navLine({ path, method, json }: Operation): string {
  return `<a href="#${text(json['operationId'])}"><code>${method} ${text(path)}</code></a>`;
}

function operationHtml({ path, method, json }: Operation): string {
  const description = json['description'] ? `<p>${prose(json['description'])}</p>` : '';
  return `<article id="${text(json['operationId'])}"><h3><b class="method">${method}</b><code>${text(path)}</code><span class="role">${text(json['x-role'])}</span></h3>` +
    `<p>${prose(json['summary'])}</p>${description}${parametersHtml(json['parameters'])}${bodyHtml(json['requestBody'])}${responsesHtml(json['responses'])}</article>`;
}

function parametersHtml(parameters: unknown): string {
  const rows = (Array.isArray(parameters) ? parameters : []).map(object).map((one) =>
    `<tr><td><code>${text(one['name'])}</code></td><td>${text(one['in'])}${one['required'] ? ', required' : ''}</td>` +
    `<td><code>${text(typeOf(object(one['schema'])))}</code></td><td>${prose(one['description'])}</td></tr>`);
  return rows.length > 0 ? `<h4>Parameters</h4><table>${rows.join('')}</table>` : '';
}

function bodyHtml(body: unknown): string {
  const content = Object.entries(object(object(body)['content']));
  return content.map(([type, one]) => `<h4>Body, ${text(type)}</h4>${schemaHtml(object(one)['schema'])}`).join('');
}

function responsesHtml(responses: unknown): string {
  const parts = Object.entries(object(responses)).map(([status, one]) => {
    const content = Object.entries(object(object(one)['content']));
    const head = `<code>${text(status)}</code> ${prose(object(one)['description'])}`;
    const schemas = content.filter(([type]) => type !== 'application/problem+json')
      .map(([type, each]) => `<div>${text(type)}</div>${schemaHtml(object(each)['schema'])}`).join('');
    return schemas ? `<details><summary>${head}</summary>${schemas}</details>` : `<div>${head}</div>`;
  });
  return `<h4>Answers</h4>${parts.join('')}`;
}

function schemaHtml(schema: unknown): string {
  const reference = object(schema)['$ref'] ?? object(object(schema)['items'])['$ref'];
  if (typeof reference !== 'string') {
    return code(schema);
  }
  const name = reference.split('/').at(-1) ?? '';
  return `<p>${object(schema)['items'] ? 'A list of ' : ''}<a href="#schema-${text(name)}"><code>${text(name)}</code></a></p>`;
}

function typeOf(schema: Json): string {
  const values = schema['enum'];
  return Array.isArray(values) ? values.join(' | ') : [schema['type'], schema['format']].filter(Boolean).join(', ');
}

function code(value: unknown): string {
  return `<pre>${text(JSON.stringify(value, null, 2))}</pre>`;
}

/** Text with `code` in backticks. */
function prose(value: unknown): string {
  return text(value).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

function text(value: unknown): string {
  const plain = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  return plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll('\'', '&#39;');
}

function object(value: unknown): Json {
  // Every member is looked at through `unknown` again.
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : [];
}
