from setuptools import Extension, setup
setup(ext_modules=[Extension("streameval.kernel._compiled", ["streameval/kernel/_compiled.pyx"], extra_compile_args=["-O3"], depends=["streameval/kernel/counting.h"])])
