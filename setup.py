"""The kernels in C with OpenMP, where the compiler knows it; pyproject.toml has the rest."""

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError, LinkError


class BuildKernels(build_ext):
    """Several threads where that is possible, one elsewhere."""

    def build_extension(self, ext: Extension) -> None:
        """Try with OpenMP first."""
        compile_arguments = ext.extra_compile_args
        ext.extra_compile_args = [*compile_arguments, "-fopenmp"]
        ext.extra_link_args = ["-fopenmp"]
        try:
            super().build_extension(ext)
        except (CompileError, LinkError):
            ext.extra_compile_args, ext.extra_link_args = compile_arguments, []
            super().build_extension(ext)


setup(cmdclass={"build_ext": BuildKernels})
