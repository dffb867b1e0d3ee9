// Uploads a table, assesses it as it stands, searches for the best rule, waits, and downloads the release.
// Usage: node build/journey.js http://127.0.0.1:8000 KEY release.csv

import { writeFile } from "node:fs/promises";
import createClient from "openapi-fetch";
import type { components, paths } from "./service.js";

type Run = components["schemas"]["Run"];

const MEMBERS = `member,place,age
1,Gary,64
2,Gary,61
3,Gary,38
4,Boston,35
5,Boston,62
6,Boston,67
`;

const [address, key, file] = process.argv.slice(2);
if (address === undefined || key === undefined || file === undefined) {
  console.error("usage: node build/journey.js ADDRESS KEY FILE");
  process.exit(2);
}
// The media types that are read as objects: the answers of `dry_run` have another one.
type Read = "application/json" | "application/problem+json";
const service = createClient<paths, Read>({ baseUrl: address, headers: { Authorization: `Bearer ${key}` } });

/** What the service answered; a refusal is an error that says what to do about it. */
function answered<Body>({ data, error }: { data?: Body; error?: components["schemas"]["Problem"] }): Body {
  if (data === undefined) {
    throw new Error(`${error?.detail} ${error?.remedy}`);
  }
  return data;
}

async function upload(): Promise<void> {
  const made = await service.POST("/v1/uploads", {
    params: { query: { name: "people" } },
    headers: { "Content-Type": "text/csv" },
    body: MEMBERS,
    bodySerializer: (text) => text,
  });
  console.log(`uploaded ${answered(made).rows} rows`);
}

async function describe(): Promise<void> {
  const places = ["Gary", "Boston"].map((place) => [place]);
  const ages = { first: "30", last: "69", step: "1" };
  answered(
    await service.POST("/v1/hierarchies", {
      body: { name: "place", definition: { kind: "rows", rows: places } },
    }),
  );
  answered(
    await service.POST("/v1/hierarchies", {
      body: { name: "age", definition: { kind: "intervals", range: ages, widths: ["10", "20"] } },
    }),
  );
  answered(
    await service.POST("/v1/datasets", {
      body: {
        name: "people",
        upload: "people",
        attributes: [
          { name: "member", type: "text", role: "identifier" },
          { name: "place", type: "categorical", role: "quasi_identifier", hierarchy: "place" },
          { name: "age", type: "number", role: "quasi_identifier", hierarchy: "age" },
        ],
      },
    }),
  );
  answered(await service.POST("/v1/dictionaries", { body: { name: "register", from_dataset: "people" } }));
  answered(
    await service.POST("/v1/sensitivity-profiles", {
      body: {
        name: "harm",
        dataset: "people",
        family: "multiplicative",
        attributes: { place: { leaves: 0.5 }, age: { leaves: 0.5 } },
      },
    }),
  );
}

async function assess(): Promise<void> {
  const question = { dataset: "people", dictionary: "register", sensitivity: "harm" };
  const body = { ...question, name: "as-is", rule: { kind: "identity" as const } };
  const plan = answered(await service.POST("/v1/assessments/plans", { body }));
  const assessment = answered(await service.POST("/v1/assessments", { body }));
  console.log(`${assessment.name}: risk ${assessment.result?.risk_average}, estimated ${plan.seconds} s`);
}

async function search(): Promise<void> {
  let run: Run = answered(
    await service.POST("/v1/optimisations", {
      body: {
        name: "best",
        dataset: "people",
        objective: { kind: "min_loss", privacy: [{ kind: "k_anonymity", k: 2 }] },
      },
      params: { header: { prefer: "wait=20" } },
    }),
  );
  while (run.state === "queued" || run.state === "running") {
    const wait = { path: { ref: run.id }, header: { prefer: "wait=20" } };
    run = answered(await service.GET("/v1/runs/{ref}", { params: wait }));
  }
  if (run.state !== "succeeded") {
    throw new Error(`The search ended as ${run.state}: ${JSON.stringify(run.error)}`);
  }
  const optimum = answered(await service.GET("/v1/optimisations/{ref}", { params: { path: { ref: "best" } } }));
  console.log(`${optimum.name}: ${optimum.result?.status}`);
}

async function download(): Promise<void> {
  answered(
    await service.POST("/v1/releases", { body: { name: "for-partners", dataset: "people", rule: "best" } }),
  );
  const table = await service.GET("/v1/releases/{ref}/data", {
    params: { path: { ref: "for-partners" }, query: { format: "csv" } },
    parseAs: "text",
  });
  await writeFile(file as string, answered(table));
  console.log(`released to ${file}`);
}

await upload();
await describe();
await assess();
await search();
await download();
