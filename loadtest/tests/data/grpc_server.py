"""The service of `shop.proto` by the library `grpcio` of Python, its messages written by hand. Prints its port.

With an argument, a connection may have so many calls at once, and each call is a line of JSON."""

import json
import os
import sys
import threading
from concurrent import futures

import grpc

# The first product that is answered with a status.
STATUSES = 1000


def read_item(data):
    """The fields of an `Item`: the numbers `product` and `quantity`."""
    fields, at = {1: 0, 2: 0}, 0
    while at < len(data):
        tag, at = data[at], at + 1
        value, shift = 0, 0
        while True:
            byte, at = data[at], at + 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        fields[tag >> 3] = value
    return fields[1], fields[2]


def write_pair(pair):
    """A `Total` or a `Price`, of two numbers."""
    out = bytearray()
    for number, value in enumerate(pair, 1):
        out.append(number << 3)
        while value >= 0x80:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        out.append(value)
    return bytes(out)


def add(item, context):
    product, quantity = item
    if product >= STATUSES:
        code = next(code for code in grpc.StatusCode if code.value[0] == product - STATUSES)
        context.abort(code, "as asked")
    return product, quantity * 100


def add_all(items, _context):
    quantities = [quantity for _, quantity in items]
    return len(quantities), sum(quantities) * 100


def watch(item, _context):
    product, quantity = item
    for number in range(quantity):
        threading.Event().wait(0.02)
        yield product, 100 + number


def ask(items, _context):
    for number, (product, _) in enumerate(items):
        yield product, 100 + number


def handler(make, function):
    def logged(request, context):
        line = {"event": "call", "method": function.__name__, "connection": context.peer()}
        # `print` of several threads mixes their lines.
        os.write(1, (json.dumps(line) + "\n").encode())
        return function(request, context)

    return make(logged if limits else function, request_deserializer=read_item, response_serializer=write_pair)


limits = [("grpc.max_concurrent_streams", int(limit)) for limit in sys.argv[1:]]
server = grpc.server(futures.ThreadPoolExecutor(max_workers=8), options=limits)
methods = {
    "Add": handler(grpc.unary_unary_rpc_method_handler, add),
    "AddAll": handler(grpc.stream_unary_rpc_method_handler, add_all),
    "Watch": handler(grpc.unary_stream_rpc_method_handler, watch),
    "Ask": handler(grpc.stream_stream_rpc_method_handler, ask),
}
server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("shop.Cart", methods)])
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(port, flush=True)
server.wait_for_termination()
