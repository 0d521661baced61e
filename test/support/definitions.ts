/** Tasks of the definition language that many tests use. */

/** `call: human`; `more`: further parameters. */
export function humanTask(title: string, more: Record<string, unknown> = {}) {
  return { call: 'human', with: { title, ...more } };
}

/** `call: agent`; `more`: further parameters, such as `version`. */
export function agentTask(agent: string, more: Record<string, unknown> = {}) {
  return { call: 'agent', with: { agent, ...more } };
}

/** `call: http` with GET; `more`: further parameters, such as `headers`, or another `method`. */
export function httpTask(endpoint: unknown, more: object = {}) {
  return { call: 'http', with: { method: 'get', endpoint, ...more } };
}
