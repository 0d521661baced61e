// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611292237;
export const functionsDigest = '5f32e5df880030acd7ef055b6c881e952c0dedc417520a6d18e9a51952d232ab';
