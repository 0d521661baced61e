// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611292304;
export const functionsDigest = '01965324b3a7bb9c31a4e8bdf3f2410fd6768a95431250494d988613160c76e6';
