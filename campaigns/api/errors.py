def one_error_shape(error, context):
    raise error
