// Functions on at::Tensor as methods of a Python extension module, without pybind11. The signature is read from the function's own
// type; a type that is not known here does not compile, and the next tier of headers is tried. Conversions and exceptions are
// those of pybind11 and torch::wrap_pybind_function: None is no tensor, a float is no int, every std::exception is a RuntimeError.
#pragma once
#if defined(__GNUC__) && !defined(__CUDACC__)
#pragma GCC system_header  // warnings are for the candidate's text alone
#endif

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlfcn.h>

#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace popcorn {

// Each tier gives these two, and `raise_known(std::exception_ptr)`, before the functions are bound.
inline at::Tensor tensor_from_pointer(void* implementation);  // borrowed TensorImpl*
inline void* pointer_of(at::Tensor& tensor);                  // at::Tensor*
inline void* released(at::Tensor& tensor);                    // at::Tensor* made by new, now the caller's
inline bool raise_known();                                    // inside catch (...): sets torch's own Python error and returns true

struct PythonError {};  // the Python error is set

inline PyObject* torch_attribute(const char* module, const char* name) {
  PyObject* owner = PyImport_ImportModule(module);
  if (!owner) throw PythonError();
  PyObject* found = PyObject_GetAttrString(owner, name);
  Py_DECREF(owner);
  if (!found) throw PythonError();
  return found;
}

inline PyObject* tensor_type() {
  static PyObject* type = torch_attribute("torch", "Tensor");
  return type;
}

template <typename T, typename = void>
struct Convert;  // undefined: this type is not bound

template <>
struct Convert<at::Tensor> {
  static bool from(PyObject* object, at::Tensor& value) {
    static PyObject* const name = PyUnicode_InternFromString("_cdata");
    const int is_tensor = PyObject_IsInstance(object, tensor_type());
    if (is_tensor < 0) throw PythonError();
    if (!is_tensor) return false;
    PyObject* address = PyObject_GetAttr(object, name);
    if (!address) throw PythonError();
    void* implementation = PyLong_AsVoidPtr(address);
    Py_DECREF(address);
    if (!implementation) throw PythonError();
    value = tensor_from_pointer(implementation);
    return true;
  }
  // A microsecond slower, through a function that torch gives to Python.
  static PyObject* slowly(at::Tensor& value) {
    static PyObject* const make = [] {
      PyObject* owner = torch_attribute("torch._C", "_aoti");
      PyObject* found = PyObject_GetAttrString(owner, "alloc_tensor_by_stealing_from_void_ptr");
      Py_DECREF(owner);
      if (!found) throw PythonError();
      return found;
    }();
    PyObject* capsule = PyCapsule_New(released(value), nullptr, nullptr);
    if (!capsule) throw PythonError();
    PyObject* made = PyObject_CallFunctionObjArgs(make, capsule, nullptr);
    Py_DECREF(capsule);
    return made;
  }
  static PyObject* to(at::Tensor value) {
    if (!value.defined()) Py_RETURN_NONE;
    using Wrap = PyObject* (*)(void*);
    // by value or by reference, the callee receives the address of an at::Tensor
    static const Wrap wrap = [] {
      void* library = dlopen("libtorch_python.so", RTLD_NOW | RTLD_NOLOAD);
      void* found = nullptr;
      for (const char* name : {"_Z16THPVariable_WrapRKN2at10TensorBaseE", "_Z16THPVariable_WrapN2at10TensorBaseE"})
        if (library && !found) found = dlsym(library, name);
#ifdef POPCORN_NO_WRAP
      found = nullptr;
#endif
      return reinterpret_cast<Wrap>(found);
    }();
    PyObject* made = wrap ? wrap(pointer_of(value)) : slowly(value);
    if (!made) throw PythonError();
    return made;
  }
};

template <>
struct Convert<bool> {
  static bool from(PyObject* object, bool& value) {
    if (object == Py_True || object == Py_False) {
      value = object == Py_True;
      return true;
    }
    if (object == Py_None) {
      value = false;
      return true;
    }
    if (!Py_TYPE(object)->tp_as_number || !Py_TYPE(object)->tp_as_number->nb_bool) return false;
    const int truth = PyObject_IsTrue(object);
    if (truth < 0) {
      PyErr_Clear();
      return false;
    }
    value = truth != 0;
    return true;
  }
  static PyObject* to(bool value) { return PyBool_FromLong(value); }
};

template <typename T>
struct Convert<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char> && (sizeof(T) >= 4)>> {
  static bool from(PyObject* object, T& value) {
    if (PyFloat_Check(object)) return false;
    PyObject* number = PyIndex_Check(object) ? PyNumber_Index(object) : (PyNumber_Check(object) ? PyNumber_Long(object) : nullptr);
    if (!number) {
      PyErr_Clear();
      return false;
    }
    bool fits;
    if constexpr (std::is_signed_v<T>) {
      const long long found = PyLong_AsLongLong(number);
      fits = !PyErr_Occurred() && found >= std::numeric_limits<T>::min() && found <= std::numeric_limits<T>::max();
      value = static_cast<T>(found);
    } else {
      const unsigned long long found = PyLong_AsUnsignedLongLong(number);
      fits = !PyErr_Occurred() && found <= std::numeric_limits<T>::max();
      value = static_cast<T>(found);
    }
    Py_DECREF(number);
    PyErr_Clear();
    return fits;
  }
  static PyObject* to(T value) {
    if constexpr (std::is_signed_v<T>) return PyLong_FromLongLong(value);
    return PyLong_FromUnsignedLongLong(static_cast<unsigned long long>(value));
  }
};

template <typename T>
struct Convert<T, std::enable_if_t<std::is_same_v<T, double> || std::is_same_v<T, float>>> {
  static bool from(PyObject* object, T& value) {
    const double found = PyFloat_AsDouble(object);
    if (found == -1.0 && PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    value = static_cast<T>(found);
    return true;
  }
  static PyObject* to(T value) { return PyFloat_FromDouble(value); }
};

template <>
struct Convert<std::string> {
  static bool from(PyObject* object, std::string& value) {
    Py_ssize_t size = 0;
    if (!PyUnicode_Check(object)) return false;
    const char* text = PyUnicode_AsUTF8AndSize(object, &size);
    if (!text) {
      PyErr_Clear();
      return false;
    }
    value.assign(text, static_cast<size_t>(size));
    return true;
  }
  static PyObject* to(const std::string& value) {
    PyObject* made = PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), nullptr);
    if (!made) throw PythonError();
    return made;
  }
};

template <typename T>
struct Convert<std::optional<T>> {
  static bool from(PyObject* object, std::optional<T>& value) {
    value.reset();
    if (object == Py_None) return true;
    return Convert<T>::from(object, value.emplace());
  }
  static PyObject* to(std::optional<T> value) {
    if (!value) Py_RETURN_NONE;
    return Convert<T>::to(std::move(*value));
  }
};

template <typename T>
struct Convert<std::vector<T>, std::enable_if_t<!std::is_same_v<T, bool>>> {
  static bool from(PyObject* object, std::vector<T>& value) {
    if (!PyList_Check(object) && !PyTuple_Check(object)) return false;
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
    value.resize(static_cast<size_t>(count));
    for (Py_ssize_t i = 0; i < count; ++i)
      if (!Convert<T>::from(PySequence_Fast_GET_ITEM(object, i), value[static_cast<size_t>(i)])) return false;
    return true;
  }
  static PyObject* to(std::vector<T> value) {
    PyObject* list = PyList_New(static_cast<Py_ssize_t>(value.size()));
    if (!list) throw PythonError();
    for (size_t i = 0; i < value.size(); ++i) PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), Convert<T>::to(std::move(value[i])));
    return list;
  }
};

template <typename... T>
struct Convert<std::tuple<T...>> {
  static PyObject* to(std::tuple<T...> value) { return fill(value, std::index_sequence_for<T...>()); }
  template <size_t... I>
  static PyObject* fill(std::tuple<T...>& value, std::index_sequence<I...>) {
    PyObject* tuple = PyTuple_New(sizeof...(T));
    if (!tuple) throw PythonError();
    (PyTuple_SET_ITEM(tuple, I, Convert<T>::to(std::move(std::get<I>(value)))), ...);
    return tuple;
  }
};

template <typename A, typename B>
struct Convert<std::pair<A, B>> {
  static PyObject* to(std::pair<A, B> value) { return Convert<std::tuple<A, B>>::to({std::move(value.first), std::move(value.second)}); }
};

template <typename R, typename... A, size_t... I>
PyObject* invoke(R (*function)(A...), PyObject* const* arguments, std::index_sequence<I...>) {
  std::tuple<std::remove_cv_t<std::remove_reference_t<A>>...> values;
  const bool taken = (Convert<std::tuple_element_t<I, decltype(values)>>::from(arguments[I], std::get<I>(values)) && ...);
  if (!taken) {
    PyErr_SetString(PyExc_TypeError, "incompatible function arguments");
    throw PythonError();
  }
  if constexpr (std::is_void_v<R>) {
    function(static_cast<A&&>(std::get<I>(values))...);
    Py_RETURN_NONE;
  } else {
    return Convert<std::remove_cv_t<std::remove_reference_t<R>>>::to(function(static_cast<A&&>(std::get<I>(values))...));
  }
}

template <typename R, typename... A>
PyObject* checked(const char* name, R (*function)(A...), PyObject* const* arguments, Py_ssize_t count) {
  if (count != static_cast<Py_ssize_t>(sizeof...(A)))
    return PyErr_Format(PyExc_TypeError, "%s(): incompatible function arguments: %zu were expected, %zd given", name, sizeof...(A), count);
  try {
    return invoke(function, arguments, std::index_sequence_for<A...>());
  } catch (const PythonError&) {
    return nullptr;
  } catch (...) {
    if (raise_known()) return nullptr;
    try {
      throw;
    } catch (const std::exception& error) {
      PyErr_SetString(PyExc_RuntimeError, error.what());
    } catch (...) {
      PyErr_SetString(PyExc_RuntimeError, "Caught an unknown exception!");
    }
    return nullptr;
  }
}

}  // namespace popcorn

#define POPCORN_METHOD(NAME)                                                                          \
  static PyObject* popcorn_method_##NAME(PyObject*, PyObject* const* popcorn_arguments, Py_ssize_t popcorn_count) { \
    return ::popcorn::checked(#NAME, &::NAME, popcorn_arguments, popcorn_count);                                  \
  }
#define POPCORN_ROW(NAME, DOC) \
  { #NAME, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(popcorn_method_##NAME)), METH_FASTCALL, DOC }
#define POPCORN_MODULE(NAME, ...)                                                                             \
  static PyMethodDef popcorn_rows[] = {__VA_ARGS__{nullptr, nullptr, 0, nullptr}};                            \
  static PyModuleDef popcorn_module = {PyModuleDef_HEAD_INIT, #NAME,   nullptr, -1,                           \
                                       popcorn_rows,          nullptr, nullptr, nullptr, nullptr};             \
  PyMODINIT_FUNC PyInit_##NAME() { return PyModule_Create(&popcorn_module); }
