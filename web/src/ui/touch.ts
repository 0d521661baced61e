/** Whether people touch this device's screen: hints about keys are no help then, and fingers slip. */
import { signal } from '@preact/signals';

const touch = matchMedia('(hover: none) and (pointer: coarse)');
export const isTouch = signal(touch.matches);
touch.addEventListener('change', () => (isTouch.value = touch.matches));

/** Whether a finger has clicked; screens of desks can be touched too. */
export function isTap(event: MouseEvent): boolean {
  const { pointerType = '' } = event as Partial<PointerEvent>;
  return pointerType === 'touch' || (isTouch.value && pointerType !== 'mouse');
}
