/** Access to files (`domain/auth/ownership.ts`). */
export { mayChange as mayChangeFile, maySee as maySeeFile } from '../auth/ownership.ts';
