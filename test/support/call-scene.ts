/** An agent for one test of faults, its workers, and what its counterpart sees. */
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from '@jest/globals';
import type { Client } from './app.ts';
import { sendJson, startServer } from './http-server.ts';
import { startTestPlatform, type TestPlatform } from './platform.ts';
import { startProgram, type Program } from './programs.ts';

export interface CallScene {
  platform: TestPlatform;
  builder: Client;
  agentId: string;
  /** The idempotency keys in the order of their calls. */
  keys: string[];
  /** How long the counterpart takes. */
  takes: number;
  /** From now on answers wait until the returned function is called. */
  hold(): () => void;
  /** How many callers have left before their answer. */
  left: number;
  calledTimes(count: number): Promise<void>;
  worker(more?: Record<string, string>): Promise<Program>;
  /** Ends the workers and the counterpart. */
  close(): Promise<void>;
}

export async function startCallScene(platform: TestPlatform): Promise<CallScene> {
  const workers: Program[] = [];
  let onCall = (): void => {};
  let held: Promise<void> | null = null;
  const counterpart = await startServer(async (request, response) => {
    scene.keys.push(String(request.headers['idempotency-key']));
    const n = scene.keys.length;
    onCall();
    response.on('close', () => {
      if (!response.writableFinished) scene.left++;
    });
    await held;
    if (scene.takes > 0) await sleep(scene.takes);
    // Every answer differs: a repeated call that was not recalled would show.
    sendJson(response, { n });
  });
  const builder = await platform.as('builder');
  const { body } = await builder.post('/agents', {
    name: `counter-${counterpart.port}`,
    type: 'api',
    version: '1.0.0',
    visibility: 'private',
    configuration: { endpoint: counterpart.url },
  });
  const scene: CallScene = {
    platform,
    builder,
    agentId: body.id,
    keys: [],
    takes: 0,
    left: 0,
    hold() {
      let release = (): void => {};
      held = new Promise((resolve) => (release = resolve));
      return () => {
        held = null;
        release();
      };
    },
    calledTimes: (count) =>
      new Promise((resolve) => {
        onCall = () => scene.keys.length >= count && resolve();
        // The last of them may have come before this was asked.
        onCall();
      }),
    async worker(more = {}) {
      const program = await startProgram('worker', platform, more);
      workers.push(program);
      return program;
    },
    async close() {
      await Promise.all(workers.map((worker) => worker.kill()));
      await counterpart.close();
    },
  };
  return scene;
}

/** Tests that each have a platform, an agent and workers of their own, and run beside each other. */
export function testsOfCalls(env: Record<string, string> = {}) {
  return (title: string, body: (scene: CallScene) => Promise<void>): void => {
    // oxlint-disable-next-line jest/valid-title, jest/expect-expect -- the caller's
    test.concurrent(title, async () => {
      const platform = await startTestPlatform({ worker: false, env });
      const scene = await startCallScene(platform);
      try {
        await body(scene);
      } finally {
        await scene.close();
        await platform.close();
      }
    });
  };
}
