/** What the checks of a doctor have found. */
import type { View } from './table.ts';

export interface Finding {
  check: string;
  status: 'ok' | 'warn' | 'error';
  detail: string;
}

export const findingView: View<Finding> = {
  columns: [
    ['check', ({ check }) => check],
    ['status', ({ status }) => status],
    ['detail', ({ detail }) => detail],
  ],
  name: ({ check, status }) => `${check}=${status}`,
  wraps: true,
};
