// The work as a developer writes it for Restate: node restate-service.mjs <folder of the SDK> <port> <agent>
import { pathToFileURL } from 'node:url';

const [sdk, port, agent] = process.argv.slice(2);
const restate = await import(pathToFileURL(`${sdk}/dist/index.js`).href);

async function callAgent(step) {
  const response = await fetch(agent, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ step }),
  });
  return response.json();
}

const sequence = restate.service({
  name: 'sequence',
  handlers: {
    run: async (ctx, steps) => {
      for (let step = 0; step < steps; step++) await ctx.run('call', () => callAgent(step));
    },
  },
});

const question = restate.workflow({
  name: 'question',
  handlers: {
    run: async (ctx) => {
      await ctx.promise('decision');
      await ctx.run('call', () => callAgent(0));
    },
    decide: (ctx, decision) => ctx.promise('decision').resolve(decision),
  },
});

await restate.serve({ services: [sequence, question], port: Number(port) });
