// The language of data-shown-if: "model=open,over stop=requests" holds where each named choice has
// one of its values; " or " stands between two such ways. The server reads the same in
// forms/plan_shown.py.

// choices: {model: "open", stop: "requests", …}
export function holds(condition, choices) {
  return condition.split(" or ").some((way) =>
    way.split(" ").every((part) => {
      const [name, values] = part.split("=");
      return values.split(",").includes(choices[name]);
    }),
  );
}
