/** What the worker passes to the thread of one script, and gets back. */

export interface ScriptInput {
  wasm: WebAssembly.Module;
  code: string;
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  stdin: string;
  /** In `/files/in`; null: the script has no folder for files. */
  files: readonly ScriptFile[] | null;
  limits: ScriptLimits;
}

/** Without folders in its name. */
export interface ScriptFile {
  name: string;
  bytes: Uint8Array;
}

interface ScriptLimits {
  memoryBytes: number;
  timeMs: number;
  /** For standard output and standard error each. */
  outputBytes: number;
  /** The streams that may not be cut, because the task returns them. */
  whole: readonly ('stdout' | 'stderr')[];
}

export interface ScriptOutput {
  code: number;
  stdout: string;
  stderr: string;
  /** The streams that are longer than the limit; only their beginning is kept. */
  cut: ('stdout' | 'stderr')[];
  /** Which limit ended the script; `crash`: the engine itself failed. */
  stopped: 'time' | 'memory' | 'output' | 'crash' | null;
  /** What it left in `/files/out`. */
  files: ScriptFile[];
}

/** What a script has written since the last message. */
export interface ScriptProgress {
  written: { stream: 'stdout' | 'stderr'; text: string }[];
}
