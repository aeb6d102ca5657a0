import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  // The server may mount the page anywhere.
  base: "./",
  resolve: {
    // The SDK's sources, so that the page builds without the SDK's own build.
    alias: { "@amdgpu-framework/sdk": fileURLToPath(new URL("../sdk/src/index.ts", import.meta.url)) },
  },
  build: {
    outDir: fileURLToPath(new URL("../../python/amdgpu/_lib/dashboard", import.meta.url)),
    emptyOutDir: true,
    target: "es2022",
    // Everything is small: one script and one style sheet are two requests.
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
  },
});
