// Node reads the nearest package.json to learn what a .js file is; the folder of CommonJS files has one of its own.
import { writeFileSync } from "node:fs";

writeFileSync(new URL("dist/cjs/package.json", import.meta.url), '{ "type": "commonjs" }\n');
