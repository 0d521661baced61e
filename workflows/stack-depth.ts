/**
 * Limits the stack traces of workflow code. The SDK records one for each promise and looks up every line of
 * it in the source map, which took most of the workflow thread's time. Its hook adds two lines of its own, so
 * two lines cost nothing there, and an error still shows where it was thrown and who called. The worker's own
 * threads have no such hook (docs/adr/0038); threads that replay histories do.
 *
 * The sandbox freezes `Error` once the shared modules are loaded, so this has to be one of them
 * (worker/bundle.ts).
 */
Error.stackTraceLimit = 2;
