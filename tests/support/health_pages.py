"""Pages of a health server."""

import asyncio


async def fetch(port: int, path: str, host: str = "127.0.0.1", version: str = "1.1") -> tuple[int, str]:
    """GETs a page; returns its status and its text."""
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(f"GET {path} HTTP/{version}\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition("\r\n\r\n")
    return int(head.split()[1]), body
