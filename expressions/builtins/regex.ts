import type { Family } from './types.ts';
export const regex: Family = {};
