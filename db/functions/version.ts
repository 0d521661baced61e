// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611232159;
export const functionsDigest = 'e2660f604b115be1c54ce03aa42fdd9b00c49f6974a1a5d5d255c6d3024edbe5';
