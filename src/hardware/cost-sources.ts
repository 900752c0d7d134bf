/**
 * Says in a sentence each where the parts of a cost model come from.
 *
 * Called by tabulated-cost-model.ts when it is built; read by people, through the command line. A
 * part is `measured` only where tables of this very GPU cover the model's shapes.
 */

import type { CalibrationChoice } from "./calibration/catalogue.ts";
import type { CostSource } from "./cost-model.ts";
import { hasDecodeTable } from "./decode-attention.ts";
import type { Gpu } from "./gpu.ts";
import type { ModelShape } from "./model-shape.ts";
import { hasPrefillTable } from "./prefill-attention.ts";

export function describeSources(
  gpu: Gpu,
  model: ModelShape,
  choice: CalibrationChoice | null,
): CostSource[] {
  return [
    describeLinear(gpu, choice),
    describeDecode(gpu, model, choice),
    describePrefill(gpu, model, choice),
    {
      part: "head",
      kind: "roofline",
      note:
        "No table has a vocabulary head: its weights and logits at achieved HBM bandwidth, or " +
        "its FLOPs where they take longer.",
    },
    {
      part: "host",
      kind: "assumed",
      note: "3 ms of each step for scheduling, sampling and launching, which no GPU work hides.",
    },
  ];
}

function describeLinear(gpu: Gpu, choice: CalibrationChoice | null): CostSource {
  const elementwise = "norms, rotary embedding and activation are a launch time and their bytes";
  if (choice === null) return rooflineSource("linear", gpu, `; ${elementwise}`);
  const { gpuName, source } = choice.calibration;
  const isOwn = gpuName === gpu.name;
  const scaling = isOwn ? "" : `, memory-bound parts ${ratioText(choice)}`;
  return {
    part: "linear",
    kind: isOwn ? "measured" : "scaled",
    note: `GEMMs of ${gpuName} (${source}), interpolated over shapes${scaling}; ${elementwise}.`,
  };
}

function describeDecode(
  gpu: Gpu,
  model: ModelShape,
  choice: CalibrationChoice | null,
): CostSource {
  if (choice === null) return rooflineSource("decode-attention", gpu, "");
  const { gpuName, source } = choice.calibration;
  const isOwn = gpuName === gpu.name;
  const isCovered = hasDecodeTable(choice, model);
  const scaling = isOwn ? "" : `, all beyond the launch ${ratioText(choice)}`;
  const heads = isCovered
    ? ""
    : `, ${model.kvHeads} KV heads of ${model.headDim} read off a table of other heads with the ` +
      "same batch x heads and the same bytes";
  return {
    part: "decode-attention",
    kind: isOwn && isCovered ? "measured" : "scaled",
    note: `Decode attention of ${gpuName} (${source})${heads}${scaling}.`,
  };
}

function describePrefill(
  gpu: Gpu,
  model: ModelShape,
  choice: CalibrationChoice | null,
): CostSource {
  const past = "; over a past it is scaled by FLOPs from the longest prompt";
  if (choice === null) return rooflineSource("prefill-attention", gpu, past);
  const { gpuName, source } = choice.calibration;
  const isCovered = hasPrefillTable(choice, model);
  const heads = isCovered ? "" : `, ${model.heads} heads of ${model.headDim} scaled from others`;
  return {
    part: "prefill-attention",
    kind: gpuName === gpu.name && isCovered ? "measured" : "scaled",
    note: `Causal attention of ${gpuName} (${source})${heads}${past}.`,
  };
}

function rooflineSource(part: CostSource["part"], gpu: Gpu, more: string): CostSource {
  const rates =
    `${gpu.hbmBytesPerSecond / 1e9} GB/s and ${gpu.flopsPerSecond / 1e12} TFLOP/s, ` +
    "themselves scaled from similar cards";
  return {
    part,
    kind: "roofline",
    note: `No table covers ${gpu.name}: ${rates}${more}.`,
  };
}

function ratioText(choice: CalibrationChoice): string {
  return `scaled by ${(1 / choice.bandwidthRatio).toFixed(3)}, the ratio of peak HBM bandwidths`;
}
