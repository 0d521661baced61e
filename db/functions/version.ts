// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611282052;
export const functionsDigest = '8ef71731dc06c0939b037847f37587a27aa5489b2e39c9f9ee286b1937d2cce0';
