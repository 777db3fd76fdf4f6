"""A server of WebSockets by the library `websockets` of Python, which does what its client asks for."""

import asyncio
import json

import websockets


async def serve(socket, _path=None):
    async for message in socket:
        if isinstance(message, bytes):
            await socket.send(message)
            continue
        asked = json.loads(message)
        if asked["do"] == "echo":
            await socket.send(message)
        elif asked["do"] == "fragments":
            await socket.send(message[at : at + 1000] for at in range(0, len(message), 1000))
        elif asked["do"] == "ping":
            await asyncio.wait_for(await socket.ping(b"are you there"), 20)
            await socket.send("pong")
        elif asked["do"] == "extensions":
            await socket.send(",".join(extension.name for extension in socket.extensions))
        elif asked["do"] == "close":
            await socket.close(asked["code"], "as asked")
            return


async def main():
    async with websockets.serve(serve, "127.0.0.1", 0) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.Future()


asyncio.run(main())
