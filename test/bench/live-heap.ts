/** What a Node.js process needs: its heap after a garbage collection, asked by its inspector. */
import { setTimeout as sleep } from 'node:timers/promises';

export interface LiveHeap {
  mib(): Promise<number>;
  close(): void;
}

interface Answer {
  id: number;
  result: { usedSize?: number };
}

/** Of a process that was started with `--inspect=127.0.0.1:<port>` */
export async function openLiveHeap(port: number): Promise<LiveHeap> {
  const socket = new WebSocket(await addressOf(port));
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error('the inspector does not answer'));
  });
  const waiting = new Map<number, (answer: Answer) => void>();
  socket.onmessage = ({ data }) => {
    // The protocol's answers have this form; its events have no id.
    const answer = JSON.parse(String(data)) as Answer;
    waiting.get(answer.id)?.(answer);
    waiting.delete(answer.id);
  };
  let last = 0;
  const ask = (method: string): Promise<Answer> =>
    new Promise((resolve) => {
      waiting.set(++last, resolve);
      socket.send(JSON.stringify({ id: last, method }));
    });
  return {
    async mib() {
      await ask('HeapProfiler.collectGarbage');
      const { result } = await ask('Runtime.getHeapUsage');
      return (result.usedSize ?? Number.NaN) / 1024 / 1024;
    },
    close: () => socket.close(),
  };
}

async function addressOf(port: number): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/json`);
      const [target] = (await answer.json()) as { webSocketDebuggerUrl: string }[];
      if (target) return target.webSocketDebuggerUrl;
    } catch (error) {
      if (attempt === 50) throw error;
    }
    await sleep(100);
  }
}
