/**
 * Numbers: counting, neighbours, sums up to twenty, larger and smaller, and apples in baskets.
 *
 * Called by dialogue.ts. Sums are few enough to be learnt by heart, as children do.
 */

import type { Prng } from "../../../src/base/prng.ts";
import { type Exchange, exchange, type Talk } from "./exchange.ts";
import { chance, pick, pickSome, type Slots } from "./template.ts";
import { NUMBERS, PEOPLE, PLURALS } from "./words.ts";

const LARGEST = 20;

/** The number in words or, more rarely, in digits. */
function spell(number: number, isDigits: boolean): string {
  return isDigits ? String(number) : NUMBERS[number]!;
}

export const count: Talk = (prng) => {
  const isDigits = chance(prng, 0.4);
  const isDown = chance(prng, 0.2);
  const first = chance(prng, 0.7) ? 1 : 1 + prng.nextBelow(10);
  const last = Math.min(LARGEST, first + 2 + prng.nextBelow(14));
  const numbers = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  if (isDown) numbers.reverse();
  const list = numbers.map((number) => spell(number, isDigits)).join(", ");
  const slots = { first: spell(first, isDigits), last: spell(last, isDigits), list };
  const from = first === 1 ? "{|from $first }" : "from $first ";
  const asked = isDown
    ? "{count|please count} {down|backwards} from $last to $first."
    : `{count|please count|can you count} ${from}to $last.`;
  return [exchange(prng, asked, "$list.", slots)];
};

export const sum: Talk = (prng) => {
  const rounds = 1 + prng.nextBelow(3);
  return Array.from({ length: rounds }, () => oneSum(prng));
};

function oneSum(prng: Prng): Exchange {
  const isDigits = chance(prng, 0.5);
  const isMinus = chance(prng, 0.4);
  // Small ones are asked more often, and are fewer to learn.
  const total = prng.nextBelow(1 + (chance(prng, 0.7) ? 12 : LARGEST));
  const part = prng.nextBelow(total + 1);
  const rest = total - part;
  const [a, b, c] = isMinus ? [total, part, rest] : [part, rest, total];
  const sign = isDigits && chance(prng, 0.6) ? (isMinus ? "-" : "+") : isMinus ? "minus" : "plus";
  const is = sign === "-" || sign === "+" ? "=" : "is";
  const spelt = [a, b, c].map((number) => spell(number, isDigits)) as [string, string, string];
  const slots = { a: spelt[0], b: spelt[1], c: spelt[2], sign, is };
  return exchange(prng, "{what is |how much is |}$a $sign $b?", "$a $sign $b $is $c.", slots);
}

export const neighbours: Talk = (prng) => {
  const number = 1 + prng.nextBelow(LARGEST - 1);
  const isDigits = chance(prng, 0.4);
  const kind = pick(prng, ["after", "before", "bigger", "smaller"]);
  if (kind === "after" || kind === "before") {
    const other = spell(number + (kind === "after" ? 1 : -1), isDigits);
    const slots = { kind, number: spell(number, isDigits), other };
    return [
      exchange(
        prng,
        "{what|which number} comes $kind $number?",
        "$other comes $kind $number.",
        slots,
      ),
    ];
  }
  const [a, b] = pickSome(
    prng,
    NUMBERS.map((_, index) => index),
    2,
  ) as [number, number];
  const result = kind === "bigger" ? Math.max(a, b) : Math.min(a, b);
  const rest = a + b - result;
  const slots = {
    kind,
    a: spell(a, isDigits),
    b: spell(b, isDigits),
    result: spell(result, isDigits),
    rest: spell(rest, isDigits),
  };
  const asked = "{which is|what is|which number is} $kind, $a or $b?";
  return [exchange(prng, asked, "$result is $kind than $rest.", slots)];
};

/** "Tom has three apples and gets two more." */
export const baskets: Talk = (prng) => {
  const person = pick(prng, PEOPLE);
  const isMore = chance(prng, 0.55);
  const total = 2 + prng.nextBelow(11);
  const part = 1 + prng.nextBelow(total - 1);
  const [start, change, end] = isMore ? [part, total - part, total] : [total, part, total - part];
  const things = pick(prng, PLURALS);
  const slots: Slots = {
    name: person.name,
    he: person.he,
    things,
    start: NUMBERS[start]!,
    change: NUMBERS[change]!,
    end: NUMBERS[end]!,
    plural: end === 1 ? singular(things) : things,
  };
  const event = isMore
    ? "{$he {finds|gets|buys} $change more|a friend gives $name $change more}"
    : "$he {loses|gives away|eats} $change of them".replace(
        "|eats",
        /apples|pears|cookies|carrots|eggs/.test(things) ? "|eats" : "",
      );
  return [
    exchange(
      prng,
      `$name has $start $things. ${event}. how many $things does $name have{ now|}?`,
      "$name has $end $plural{ now|}.",
      slots,
    ),
  ];
};

function singular(plural: string): string {
  return plural === "fish" ? plural : plural.replace(/s$/, "");
}
