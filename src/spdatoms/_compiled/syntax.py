"""The walk over the syntax tree of a function that emits its instructions, see `translate`."""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import operator
from dataclasses import dataclass
from textwrap import dedent

from llvmlite import ir
from numba.core import cgutils

from spdatoms._compiled.arguments import Array, flattened, restored
from spdatoms._compiled.lanes import keep_rolled

INT, FLOAT, SINGLE, BOOL = ir.IntType(64), ir.DoubleType(), ir.FloatType(), ir.IntType(1)

_FOLDED = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_OF_FLOATS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_OF_INTEGERS = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "udiv",
    ast.Mod: "urem",
}
_COMPARISONS = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


@dataclass(frozen=True)
class _Loop:
    following: ir.Block
    after: ir.Block


class _Call:
    """A function that is being translated: its variables and where its results go."""

    def __init__(self, function, variables):
        self.names = function.__globals__
        self.flags = getattr(function, "fastmath", ())
        self.variables = variables
        self.loops = []
        self.after = None
        self.results = None


def _is_slot(thing):
    return isinstance(thing, ir.AllocaInstr)


_MOST_RESULTS = 8


def _result(builder, results, number, kind):
    """Return where a result of a function that is apart is kept."""
    place = builder.gep(results, [INT(0), INT(number)], inbounds=True)
    return builder.bitcast(place, kind.as_pointer())


class Translator(ast.NodeVisitor):
    """Emits the instructions of functions at the position of a builder.

    An expression becomes an instruction, or stays a Python object while it is known, as arrays, tuples and
    constants are.
    """

    def __init__(self, builder, known=None):
        self.b = builder
        self.frame = None
        self.known = {} if known is None else known  # the functions that are apart

    def call_apart(self, function, arguments):
        """Call a function that is translated on its own; return its result as `call` does."""
        operands = []
        form = flattened(arguments, operands)
        if (function, form) not in self.known:
            self.known[function, form] = self.apart(function, form, operands)
        callee, kinds = self.known[function, form]
        results = cgutils.alloca_once(self.b, ir.ArrayType(INT, _MOST_RESULTS))
        self.b.call(callee, [*operands, results])
        values = [self.b.load(_result(self.b, results, n, kind)) for n, kind in enumerate(kinds)]
        return values[0] if len(values) == 1 else tuple(values) or None

    def apart(self, function, form, operands):
        """Translate a function to one of LLVM; return it, and the types of its results."""
        results = ir.ArrayType(INT, _MOST_RESULTS).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [*(value.type for value in operands), results])
        name = f"{self.b.function.name}.{function.__name__}.{len(self.known)}"
        callee = ir.Function(self.b.module, kind, name)
        callee.linkage = "internal"
        callee.attributes.add("noinline")
        translator = Translator(ir.IRBuilder(callee.append_basic_block()), self.known)
        result = translator.call(function, restored(form, iter(callee.args)))
        values = result if isinstance(result, tuple) else () if result is None else (result,)
        values = [translator.value(value) for value in values]
        for n, value in enumerate(values):
            translator.b.store(value, _result(translator.b, callee.args[-1], n, value.type))
        translator.b.ret_void()
        return callee, [value.type for value in values]

    def call(self, function, arguments):
        """Emit the body of a function; return its result, a tuple for several, None for none."""
        (definition,) = ast.parse(dedent(inspect.getsource(function))).body
        outer, self.frame = self.frame, _Call(function, {})
        for parameter, value in zip(definition.args.args, arguments, strict=True):
            self.assign(parameter.arg, value)
        *body, last = definition.body
        self.frame.after = self.b.append_basic_block(f"{function.__name__}.after")
        for statement in body:
            self.visit(statement)
        if self.frame.results is None and isinstance(last, ast.Return):
            result = self.visit(last.value)  # the only way out: it may hold arrays
            self.b.branch(self.frame.after)
            self.b.position_at_end(self.frame.after)
        else:
            self.visit(last)
            if not self.b.block.is_terminated:
                self.b.branch(self.frame.after)
            self.b.position_at_end(self.frame.after)
            loaded = [self.b.load(slot) for slot in self.frame.results or ()]
            result = loaded[0] if len(loaded) == 1 else tuple(loaded) or None
        self.frame = outer
        return result

    # Values.
    def value(self, thing):
        """Return a number as an operand."""
        if isinstance(thing, bool):
            return BOOL(thing)
        if isinstance(thing, int):
            return INT(thing)
        return FLOAT(thing) if isinstance(thing, float) else thing

    def converted(self, thing, kind):
        """Return a number as one of this type."""
        value = self.value(thing)
        if value.type == kind:
            return value
        if value.type == BOOL:
            value = self.b.zext(value, INT)
        if kind == INT and value.type == FLOAT:
            return self.b.fptosi(value, INT)
        if kind == SINGLE:
            return self.b.fptrunc(self.converted(value, FLOAT), SINGLE)
        return self.b.sitofp(value, FLOAT) if kind == FLOAT else value

    def loaded(self, place):
        """Return the number at an address."""
        value = self.b.load(place)
        return self.b.fpext(value, FLOAT) if value.type == SINGLE else value

    def alike(self, *things):
        """Return numbers as operands of one type: floats if one of them is, else integers."""
        values = [self.value(thing) for thing in things]
        kind = FLOAT if any(value.type == FLOAT for value in values) else INT
        return kind, [self.converted(value, kind) for value in values]

    def llvm(self, name, *arguments):
        kind = ir.FunctionType(FLOAT, [FLOAT] * len(arguments))
        function = self.b.module.declare_intrinsic(f"llvm.{name}", [FLOAT], kind)
        return self.b.call(function, arguments, fastmath=self.frame.flags)

    def compared(self, comparison, left, right):
        kind, (left, right) = self.alike(left, right)
        if kind == INT:
            return self.b.icmp_signed(comparison, left, right)
        if comparison == "!=":
            return self.b.fcmp_unordered(comparison, left, right)
        return self.b.fcmp_ordered(comparison, left, right)

    def extreme(self, comparison, things):
        best = things[0]
        for thing in things[1:]:
            _, (left, right) = self.alike(thing, best)
            best = self.b.select(self.compared(comparison, left, right), left, right)
        return best

    def is_true(self, thing):
        if isinstance(thing, bool) or self.value(thing).type == BOOL:
            return thing
        return self.compared("!=", thing, 0)

    # Expressions.
    def visit_Constant(self, node):
        return node.value

    def visit_Name(self, node):
        known = self.frame.variables
        if node.id in known:
            thing = known[node.id]
            return self.b.load(thing) if _is_slot(thing) else thing
        if node.id in self.frame.names:
            return self.frame.names[node.id]
        return getattr(builtins, node.id)

    def visit_Tuple(self, node):
        return tuple(self.visit(element) for element in node.elts)

    def visit_Attribute(self, node):
        return getattr(self.visit(node.value), node.attr)

    def visit_BinOp(self, node):
        return self.combined(type(node.op), self.visit(node.left), self.visit(node.right))

    def combined(self, operation, left, right):
        if isinstance(left, (int, float)) and isinstance(right, (int, float)):
            return _FOLDED[operation](left, right)
        kind, (left, right) = self.alike(left, right)
        if kind == INT and operation is not ast.Div:
            return getattr(self.b, _OF_INTEGERS[operation])(left, right)
        left, right = self.converted(left, FLOAT), self.converted(right, FLOAT)
        return getattr(self.b, _OF_FLOATS[operation])(left, right, flags=self.frame.flags)

    def visit_UnaryOp(self, node):
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return not operand if isinstance(operand, bool) else self.b.not_(self.is_true(operand))
        if isinstance(operand, (int, float)):
            return -operand
        return self.b.neg(operand) if operand.type == INT else self.b.fneg(operand)

    def visit_Compare(self, node):
        left, verdict = self.visit(node.left), None
        for operation, other in zip(node.ops, node.comparators, strict=True):
            right = self.visit(other)
            one = self.compared(_COMPARISONS[type(operation)], left, right)
            verdict, left = one if verdict is None else self.b.and_(verdict, one), right
        return verdict

    def visit_BoolOp(self, node):
        verdict, after = cgutils.alloca_once(self.b, BOOL), self.b.append_basic_block("after")
        for number, operand in enumerate(node.values, start=1):
            holds = self.value(self.is_true(self.visit(operand)))
            self.b.store(holds, verdict)
            if number < len(node.values):
                following = self.b.append_basic_block("operand")
                ways = (following, after) if isinstance(node.op, ast.And) else (after, following)
                self.b.cbranch(holds, *ways)
                self.b.position_at_end(following)
        self.b.branch(after)
        self.b.position_at_end(after)
        return self.b.load(verdict)

    def visit_IfExp(self, node):
        condition = self.is_true(self.visit(node.test))
        if isinstance(condition, bool):
            return self.visit(node.body if condition else node.orelse)
        starts = [self.b.append_basic_block(name) for name in ("then", "else")]
        self.b.cbranch(condition, *starts)
        values, ends = [], []
        for start, expression in zip(starts, (node.body, node.orelse), strict=True):
            self.b.position_at_end(start)
            values.append(self.value(self.visit(expression)))
            ends.append(self.b.block)
        kind = FLOAT if any(value.type == FLOAT for value in values) else INT
        slot, after = cgutils.alloca_once(self.b, kind), self.b.append_basic_block("after")
        for end, value in zip(ends, values, strict=True):
            self.b.position_at_end(end)
            self.b.store(self.converted(value, kind), slot)
            self.b.branch(after)
        self.b.position_at_end(after)
        return self.b.load(slot)

    def visit_Call(self, node):
        function = self.visit(node.func)
        arguments = [self.visit(argument) for argument in node.args]
        if function is abs:
            return self.llvm("fabs", self.converted(arguments[0], FLOAT))
        if function in (min, max):
            return self.extreme("<" if function is min else ">", arguments)
        if function is int:
            return self.converted(arguments[0], INT)
        if function in (math.sqrt, math.copysign):
            values = [self.converted(argument, FLOAT) for argument in arguments]
            return self.llvm(function.__name__, *values)
        if function is math.isfinite:
            return self.compared("<", self.llvm("fabs", arguments[0]), math.inf)
        if hasattr(function, "emit"):
            return function.emit(self, *arguments)
        if isinstance(function, type) and issubclass(function, tuple):
            return function(*arguments)
        if hasattr(function, "apart"):
            return self.call_apart(function, arguments)
        return self.call(function, arguments)

    # Arrays.
    def visit_Subscript(self, node):
        array, index = self.visit(node.value), self.visit(node.slice)
        if isinstance(array, tuple):
            return array[index]
        place = self.place(array, index)
        return place if isinstance(place, Array) else self.loaded(place)

    def place(self, array, index):
        """Return the address of an entry, or a row."""
        if isinstance(index, slice):
            start = self.converted(index.start, INT)
            rest = self.b.sub(self.converted(array.shape[0], INT), start)
            return Array(self.b.gep(array.pointer, [start], inbounds=True), (rest,))
        indices = index if isinstance(index, tuple) else (index,)
        offset, *further = (self.converted(one, INT) for one in indices)
        for length, one in zip(array.shape[1:], further, strict=False):
            offset = self.b.add(self.b.mul(offset, length, flags=["nsw"]), one, flags=["nsw"])
        rest = array.shape[len(indices) :]
        for length in rest:
            offset = self.b.mul(offset, length, flags=["nsw"])
        pointer = self.b.gep(array.pointer, [offset], inbounds=True)
        return Array(pointer, rest) if rest else pointer

    def visit_Slice(self, node):
        assert node.upper is None, "slices go to the end"
        return slice(self.visit(node.lower), None)

    # Statements.
    def visit_Expr(self, node):
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.visit(node.value)

    def visit_Assign(self, node):
        value = self.visit(node.value)
        for target in node.targets:
            self.store(target, value)

    def store(self, target, value):
        if isinstance(target, ast.Tuple):
            for one, part in zip(target.elts, value, strict=True):
                self.store(one, part)
        elif isinstance(target, ast.Name):
            self.assign(target.id, value)
        else:
            place = self.place(self.visit(target.value), self.visit(target.slice))
            self.b.store(self.converted(value, place.type.pointee), place)

    def assign(self, name, value):
        slot = self.frame.variables.get(name)
        if not isinstance(value, (int, float, ir.Value)):
            self.frame.variables[name] = value
            return
        if not _is_slot(slot):
            slot = cgutils.alloca_once(self.b, self.value(value).type)
            self.frame.variables[name] = slot
        if slot.type.pointee == INT and self.value(value).type == FLOAT:
            raise TypeError(f"{name} is an integer in compiled code, and cannot become a float")
        self.b.store(self.converted(value, slot.type.pointee), slot)

    def visit_AugAssign(self, node):
        if isinstance(node.target, ast.Name):
            old = self.visit_Name(node.target)
            self.assign(node.target.id, self.combined(type(node.op), old, self.visit(node.value)))
            return
        place = self.place(self.visit(node.target.value), self.visit(node.target.slice))
        new = self.combined(type(node.op), self.loaded(place), self.visit(node.value))
        self.b.store(self.converted(new, place.type.pointee), place)

    def visit_If(self, node):
        condition = self.is_true(self.visit(node.test))
        if isinstance(condition, bool):
            self.block(node.body if condition else node.orelse)
            return
        yes, after = self.b.append_basic_block("then"), self.b.append_basic_block("after")
        no = self.b.append_basic_block("else") if node.orelse else after
        self.b.cbranch(condition, yes, no)
        for start, body in ((yes, node.body), (no, node.orelse)):
            if body:
                self.b.position_at_end(start)
                self.block(body)
                if not self.b.block.is_terminated:
                    self.b.branch(after)
        self.b.position_at_end(after)

    def block(self, statements):
        for statement in statements:
            self.visit(statement)
            if self.b.block.is_terminated:
                return

    def visit_For(self, node):
        bounds = [self.visit(argument) for argument in node.iter.args]
        start, stop = bounds[:2] if len(bounds) > 1 else (0, bounds[0])
        step = bounds[2] if len(bounds) > 2 else 1
        counter = cgutils.alloca_once(self.b, INT)
        self.b.store(self.converted(start, INT), counter)
        stop = self.converted(stop, INT)
        head, body, following, after = (
            self.b.append_basic_block(name) for name in ("head", "body", "following", "after")
        )
        self.b.branch(head)
        self.b.position_at_end(head)
        index = self.b.load(counter)
        down = isinstance(step, int) and step < 0  # one that is not known yet is positive
        goes_on = self.b.icmp_signed(">" if down else "<", index, stop)
        self.b.cbranch(goes_on, body, after)
        self.b.position_at_end(body)
        self.assign(node.target.id, index)
        self.frame.loops.append(_Loop(following, after))
        self.block(node.body)
        self.frame.loops.pop()
        if not self.b.block.is_terminated:
            self.b.branch(following)
        self.b.position_at_end(following)
        self.b.store(self.b.add(index, self.value(step), flags=["nsw"]), counter)
        branch = self.b.branch(head)
        if not self.frame.flags:  # nothing to gain in a chain of operations
            keep_rolled(branch)
        self.b.position_at_end(after)

    def visit_Break(self, node):
        self.b.branch(self.frame.loops[-1].after)

    def visit_Continue(self, node):
        self.b.branch(self.frame.loops[-1].following)

    def visit_Return(self, node):
        result = () if node.value is None else self.visit(node.value)
        results = result if isinstance(result, tuple) else (result,)
        if self.frame.results is None:
            kinds = [self.value(one).type for one in results]
            self.frame.results = [cgutils.alloca_once(self.b, kind) for kind in kinds]
        for slot, one in zip(self.frame.results, results, strict=True):
            self.b.store(self.converted(one, slot.type.pointee), slot)
        self.b.branch(self.frame.after)

    def generic_visit(self, node):
        raise TypeError(f"{type(node).__name__} in compiled code, see the top of this module")
