import { useEffect, useState } from 'preact/hooks';

/** True when `waiting` has lasted for a while. Short waits show nothing, so the page does not flicker. */
export function useLate(waiting: boolean, afterMs = 150): boolean {
  const [late, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (!waiting) return undefined;
    const timer = setTimeout(() => setLate(true), afterMs);
    return () => clearTimeout(timer);
  }, [waiting, afterMs]);
  return waiting && late;
}
