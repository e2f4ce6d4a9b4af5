// Whether a history of sizes is linearizable, as Porcupine judges it.
//
// stdin: a JSON array of operations (see the type operation). stdout: a JSON object, target -> verdict: "ok"; "illegal"
// and what has no place in any order; or "unknown" where the time did not suffice.
//
// A target is a register that holds a size. To scale it is one atomic step: look at the size, decide, write. So however
// several daemons look, decide and write side by side, each write that took effect must have been decided from the size
// that it replaced.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

const timeout = 60 * time.Second

// So many operations before and after a misfit are shown.
const shown = 3

var kinds = map[string]bool{"scale": true, "look": true, "set": true}

// operation is one look at a target, or one write that took effect. A write that did not is no operation.
type operation struct {
	Target string `json:"target"`
	Client int    `json:"client"` // who did it
	Kind   string `json:"kind"`   // "scale", "look", or "set" for a write whose decision is not judged
	From   int    `json:"from"`   // scale: the size that it was decided from
	Size   int    `json:"size"`   // the size that was set, or found
	Call   int64  `json:"call"`   // when it was asked for; microseconds
	Return int64  `json:"return"` // when it had taken effect, or was answered
}

// state is what a target holds; before the first operation of a history anything.
type state struct {
	known bool
	size  int
}

func step(before, input, _ interface{}) (bool, interface{}) {
	is, done := before.(state), input.(operation)
	switch done.Kind {
	case "look":
		return !is.known || is.size == done.Size, state{true, done.Size}
	case "set":
		return true, state{true, done.Size}
	}
	return !is.known || is.size == done.From, state{true, done.Size}
}

// misfit says where the longest order ends, and which operations come next without a place in it.
func misfit(operations []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var longest []porcupine.Operation
	for _, orders := range info.PartialLinearizationsOperations() {
		for _, order := range orders {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	placed := map[operation]bool{}
	for _, each := range longest {
		placed[each.Input.(operation)] = true
	}
	var left []operation
	for _, each := range operations {
		if one := each.Input.(operation); !placed[one] {
			left = append(left, one)
		}
	}
	sort.Slice(left, func(i, j int) bool { return left[i].Call < left[j].Call })
	var before []operation
	for _, each := range longest[most(0, len(longest)-shown):] {
		before = append(before, each.Input.(operation))
	}
	return fmt.Sprintf("after %+v no place for %+v", before, left[:len(left)-most(0, len(left)-shown)])
}

func most(one, other int) int {
	if one > other {
		return one
	}
	return other
}

func main() {
	var history []operation
	if err := json.NewDecoder(os.Stdin).Decode(&history); err != nil {
		fmt.Fprintf(os.Stderr, "stdin is not a history: %v\n", err)
		os.Exit(2)
	}
	targets := map[string][]porcupine.Operation{}
	for _, each := range history {
		if each.Return < each.Call || !kinds[each.Kind] {
			fmt.Fprintf(os.Stderr, "not an operation: %+v\n", each)
			os.Exit(2)
		}
		one := porcupine.Operation{ClientId: each.Client, Input: each, Call: each.Call, Return: each.Return}
		targets[each.Target] = append(targets[each.Target], one)
	}
	model := porcupine.Model{Init: func() interface{} { return state{} }, Step: step}
	verdicts := map[string]string{}
	for target, operations := range targets {
		result, info := porcupine.CheckOperationsVerbose(model, operations, timeout)
		switch result {
		case porcupine.Ok:
			verdicts[target] = "ok"
		case porcupine.Illegal:
			verdicts[target] = "illegal: " + misfit(operations, info)
		default:
			verdicts[target] = "unknown"
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(verdicts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
