"""Sources of tools that can't be described; each starts after `from toolmesh_sdk import *`."""

UNDESCRIBED = {
    "function": "def run(x: str): return x\ntool_cli(run)()",
    "blank": "def run(x: str):\n    '   '\n    return x\ntool_cli(run)()",
    "only arguments": "def run(x: str):\n    '''Args:\\n        x: X.'''\n    return x\ntool_cli(run)()",
    "provider": "class P(DynamicToolProvider):\n    create_tools = lambda self, c=None: []\n"
    "@P.register_tool\ndef run(x: str): return x\nprovider_cli(P)()",
    "class": "class T(DynamicTool):\n    tool_name = 'run'\n    tool_description = ''\n    parameters_schema = {}\n"
    "    def _run_async_impl(self, args, tool_context=None): return args['x']\ndynamic_tool_cli(T)()",
}
"""Tools named `run` without a description, by style."""

BROKEN = {
    "two tools named run": "class P(DynamicToolProvider):\n    def create_tools(self): return [run2]\n"
    "@P.register_tool\ndef run():\n    'Do.'\ndef run2():\n    'Do.'\nrun2.__name__ = 'run'\nprovider_cli(P)()",
    "which is neither a DynamicTool nor a function": "class P(DynamicToolProvider):\n"
    "    def create_tools(self): return [5]\nprovider_cli(P)()",
    "parameters_schema must be a JSON Schema object": "class T(DynamicTool):\n    tool_name = 'run'\n"
    "    tool_description = 'Do.'\n    parameters_schema = None\n"
    "    def _run_async_impl(self, args): pass\ndynamic_tool_cli(T)()",
    "Can't instantiate abstract class": "class T(DynamicTool): pass\ndynamic_tool_cli(T)()",
    "ZeroDivisionError": "class T(DynamicTool):\n    tool_name = 'run'\n    parameters_schema = {}\n"
    "    tool_description = property(lambda self: 1 / 0)\n    def _run_async_impl(self, args): pass\n"
    "dynamic_tool_cli(T)()",
}
"""Programs by what has to be said of them."""
