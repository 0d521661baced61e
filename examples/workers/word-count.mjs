/**
 * An external worker without a library: counts the words of `{"text": …}`. Needs CADENZA_URL, CADENZA_TOKEN
 * and CADENZA_AGENT (the id of an agent of kind edge). With the typed client it is shorter: client/README.md.
 */
import { env, stdout } from 'node:process';

const { CADENZA_URL: url, CADENZA_TOKEN: token, CADENZA_AGENT: agent } = env;

async function post(path, body) {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return response.json();
}

let stopping = false;
process.once('SIGTERM', () => {
  stopping = true;
});

stdout.write('waiting for jobs\n');
while (!stopping) {
  const jobs = await post(`/agents/${agent}/jobs/poll`, { wait_seconds: 5, worker: 'word-count' });
  for (const { id, attempt, input } of jobs) {
    const words = String(input.text ?? '')
      .split(/\s+/)
      .filter(Boolean);
    await post(`/jobs/${id}/complete`, { attempt, output: { words: words.length } });
    stdout.write(`counted ${words.length} words\n`);
  }
}
