// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611301619;
export const functionsDigest = 'de9b052adeb9f5cdfb609fd0c14d30509a21cd923311e0766fa316f12d639ced';
