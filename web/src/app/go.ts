import { focusDrawn } from '../ui/focus.ts';
import { navigate } from './router.ts';

/** Goes to another address from a place that vanishes with it. */
export function navigateAndFocus(address: string): void {
  navigate(address);
  focusDrawn('#main');
}
