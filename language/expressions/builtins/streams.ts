/** Streaming (manual: `tostream`, `fromstream`, `truncate_stream`, `getpath/1` and friends). */
import { jq, type Family } from './types.ts';

export const streams: Family = {
  'tostream/0': jq(
    'def tostream: path(def r: (.[]?|r), .; r) as $p | getpath($p) | reduce path(.[]?) as $q ([$p, .]; ' +
      '[$p+$q]);',
  ),
  'fromstream/1': jq(`def fromstream(i): {x: null, e: false} as $init | foreach i as $i ($init;
    if .e then $init else . end
    | if $i|length == 2 then setpath(["e"]; $i[0]|length==0) | setpath(["x"]+$i[0]; $i[1])
      else setpath(["e"]; $i[0]|length==1) end;
    if .e then .x else empty end);`),
  'truncate_stream/1': jq(
    'def truncate_stream(stream): . as $n | null | stream | . as $input | if (.[0]|length) > $n then ' +
      'setpath([0];$input[0][$n:]) else empty end;',
  ),
};
