/** Commands as a reader of the documents types them. */
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Typed {
  line: string;
  output: string;
  status: number;
}

/**
 * Types each command when the last one has returned, up to one that fails or hangs. @returns their output.
 */
export async function type(commands: readonly string[], cwd: string): Promise<Typed[]> {
  const bash = spawn('bash', ['--noprofile', '--norc'], {
    cwd,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'] ?? '' },
  });
  let output = '';
  for (const stream of [bash.stdout, bash.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const typed: Typed[] = [];
  try {
    for (const line of commands) {
      const from = output.length;
      bash.stdin.write(`${line}\necho "<<$?>>"\n`);
      const done = (): RegExpExecArray | null => /<<(\d+)>>\n/.exec(output.slice(from));
      for (const deadline = Date.now() + 180_000; !done() && Date.now() < deadline;) await sleep(20);
      const status = Number(done()?.[1] ?? -1);
      typed.push({ line, output: output.slice(from).replace(/<<\d+>>\n/, ''), status });
      if (status !== 0) break;
    }
  } finally {
    // Kills the whole group, including what the commands left in the background.
    if (bash.pid !== undefined) process.kill(-bash.pid, 'SIGKILL');
  }
  return typed;
}

/** The commands of the fenced blocks of one language in a text, each with the lines that continue it. */
export function commandsIn(markdown: string, language: string): string[] {
  const blocks = [...markdown.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].filter(
    (match) => match[1] === language,
  );
  return blocks.flatMap((match) => commandsOf((match[2] ?? '').trimEnd().split('\n')));
}

function commandsOf(lines: string[]): string[] {
  const commands: string[] = [];
  let end: string | null = null;
  for (const line of lines) {
    const before = commands.at(-1) ?? '';
    if (end === null && !isContinued(before)) commands.push(line);
    else commands.splice(-1, 1, `${before}\n${line}`);
    if (line === end) end = null;
    else end ??= /<<'(\w+)'$/.exec(line)?.[1] ?? null;
  }
  return commands;
}

/** By a backslash or a pipe at its end, or a quote that is still open. Here-documents end with their word. */
function isContinued(command: string): boolean {
  if (/<<'\w+'$/m.test(command)) return false;
  return /[\\|]$/.test(command) || (command.match(/'/g) ?? []).length % 2 === 1;
}
