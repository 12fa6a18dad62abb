// The per-operator tier's side of the binding.
#pragma once

#include "popcorn_aten.h"

#include "popcorn_binding.h"

namespace popcorn {

inline at::Tensor tensor_from_pointer(void* implementation) {
  static_assert(sizeof(at::Tensor) == sizeof(void*));
  return *reinterpret_cast<at::Tensor*>(&implementation);
}

inline void* pointer_of(at::Tensor& tensor) { return &tensor; }

inline void* released(at::Tensor& tensor) { return new at::Tensor(std::move(tensor)); }

inline bool raise_as(PyObject* type, const c10::Error& error) {
  PyErr_SetString(type, error.what_without_backtrace());
  return true;
}

inline bool raise_known() {
  try {
    throw;
  } catch (const c10::OutOfMemoryError& error) {
    try {
      return raise_as(torch_attribute("torch", "OutOfMemoryError"), error);
    } catch (const PythonError&) {
      return true;
    }
  } catch (const c10::IndexError& error) {
    return raise_as(PyExc_IndexError, error);
  } catch (const c10::ValueError& error) {
    return raise_as(PyExc_ValueError, error);
  } catch (const c10::TypeError& error) {
    return raise_as(PyExc_TypeError, error);
  } catch (const c10::NotImplementedError& error) {
    return raise_as(PyExc_NotImplementedError, error);
  } catch (const c10::Error& error) {
    return raise_as(PyExc_RuntimeError, error);
  } catch (...) {
    return false;
  }
}

}  // namespace popcorn
