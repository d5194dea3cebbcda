# Python runs this before a program that verifies what an agent left. Of the folder in which that program runs, the files of the verifier
# are found first, then the modules of the system, and what the agent left last, and only by who names it: a file of that folder, or the
# command. For everybody else, such as a runner that collects tests, a module of the agent's is empty.
import sys


def guard(top, own):
    import importlib
    import os
    from importlib import machinery, util

    start, roots = os.getcwd(), []
    top, here = os.path.realpath(top), os.path.realpath(os.path.dirname(__file__))
    own = {os.path.join(top, *name.split("/")) for name in own}

    def inside(path):
        return (os.path.realpath(os.path.join(start, path)) + os.sep).startswith(top + os.sep)

    def asker():
        frame = sys._getframe(2)
        while frame is not None:
            name, file = frame.f_code.co_name, frame.f_code.co_filename
            if not (file.startswith("<frozen importlib") or file == importlib.__file__ or name in ("find_spec", "_find_spec")):
                return file
            frame = frame.f_back
        return "<command>"

    def named(name, file):
        by = asker()
        if by[:1] == "<" and by[:8] != "<frozen " or os.path.basename(by) in ("<frozen runpy>", "runpy.py") or inside(by):
            return True
        words = getattr(sys, "orig_argv", sys.argv)[1:]
        return any(w == name or os.path.realpath(os.path.join(start, w.split("::")[0])) == os.path.realpath(file) for w in words)

    class Nothing:
        def create_module(self, spec):
            return None

        def exec_module(self, module):
            sys.stderr.write("evalrun: %s is empty here: the verifier does not have it, and neither it nor its command names it\n"
                             % module.__file__)

    class Folder(machinery.FileFinder):
        def __init__(self, path):
            if not (os.path.isdir(path) and inside(path)):
                raise ImportError(path)
            super().__init__(
                path, (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
                (machinery.SourceFileLoader, machinery.SOURCE_SUFFIXES), (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES))

        def find_spec(self, name, target=None):
            if len(sys.path) == len(clean) + 1 and sys.path[1:] == clean and inside(sys.path[0]):
                roots.insert(0, sys.path.pop(0))  # the folder of the program: packages there are not installed
            base = os.path.join(os.path.realpath(self.path), name.rpartition(".")[2])
            for file in (os.path.join(base, "__init__.py"), base + ".py"):
                if file in own:
                    return util.spec_from_file_location(name, file)
            if "." not in name:
                spec = machinery.PathFinder.find_spec(name, [p for p in sys.path if not inside(p)])
                if spec is not None and spec.loader is not None:
                    return spec
            spec = super().find_spec(name, target)
            if spec is None or spec.loader is None or spec.origin in own or named(name, spec.origin):
                return spec
            return util.spec_from_file_location(
                name, spec.origin, loader=Nothing(), submodule_search_locations=spec.submodule_search_locations)

    class Roots:
        @staticmethod
        def find_spec(name, path=None, target=None):
            return machinery.PathFinder.find_spec(name, roots) if path is None else None

    roots += [p for p in sys.path if inside(p)]
    sys.path[:] = [p for p in sys.path if not inside(p) and os.path.realpath(p) != here]
    clean = list(sys.path)
    sys.path_hooks.insert(0, Folder)
    sys.path_importer_cache.clear()
    sys.meta_path.append(Roots)
    this = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # the one of the system
    except ImportError:
        sys.modules["sitecustomize"] = this


if sys.version_info >= (3, 6):
    guard(TOP, OWN)
